// Copies the text before a button, or selects it where the browser gives no access to the clipboard. Without this script the buttons are
// hidden: nothing shows that does not work.

const SHOWN_MS = 2000;

async function copyBefore(button: Element): Promise<void> {
  const text = button.previousElementSibling;
  if (text === null) return;
  try {
    await navigator.clipboard.writeText(text.textContent);
    tell(button, "Copied");
  } catch {
    // Without TLS, or where it is forbidden: selected, one key copies it.
    getSelection()?.selectAllChildren(text);
    tell(button, "Selected");
  }
}

/** How many there have been: the end of an earlier one must not take a later one away. */
let announcements = 0;

function tell(button: Element, what: string): void {
  announcements += 1;
  const number = announcements;
  button.textContent = what;
  const announced = document.getElementById("news");
  if (announced !== null) announced.textContent = what;
  setTimeout(() => {
    button.textContent = "Copy";
    if (number === announcements && announced?.textContent === what) announced.textContent = "";
  }, SHOWN_MS);
}

/** Shows the buttons, and makes them work. */
export function offerCopies(): void {
  document.documentElement.classList.add("scripted");
  document.addEventListener("click", ({ target }) => {
    const button = target instanceof Element ? target.closest("button.copy") : null;
    if (button !== null) void copyBefore(button);
  });
}
