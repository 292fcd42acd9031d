// The console's script. Keeps a page current: updates its times, and replaces its live regions with what the server renders. Without this
// script every page works, but shows the moment when it was loaded.

import { offerCopies } from "./copy.ts";
import { localTimeHere, relativeTime } from "./times.ts";

const REFRESH_MS = 2000;
const GIVE_UP_MS = 10_000;

const state = document.getElementById("live-state");
const news = document.getElementById("news");
const pause = document.getElementById("live-pause");

/** How far the server's clock is ahead of the browser's: durations use the server's time. */
let aheadMs = 0;
let isPaused = false;
/** Whether refreshing has ended for good: signed out, or the record is gone. */
let isOver = false;
let lostAt = 0;
let timer = 0;

const serverNow = (): number => Date.now() + aheadMs;

function readClock(from: Document): void {
  aheadMs = Number(from.documentElement.dataset["now"]) - Date.now();
}

function tick(): void {
  for (const element of document.querySelectorAll<HTMLElement>("[data-at]")) {
    const { at, rel } = element.dataset;
    const text = rel === "local" ? localTimeHere(Number(at), serverNow()) : relativeTime(rel, Number(at), serverNow());
    if (element.textContent !== text) element.textContent = text;
  }
}

function say(text: string, kind: string): void {
  if (state === null || state.textContent === text) return;
  state.textContent = text;
  state.dataset["kind"] = kind;
}

/** A region's content without what the browser itself changes: times, and what a button says after its click. */
function essence(region: Element): string {
  return region.innerHTML.replace(/(data-at="\d+"[^>]*>|class="copy"[^>]*>)[^<]*/g, "$1");
}

/** Somebody is typing or selecting text in the region: it must not be replaced. */
function isInUse(region: Element): boolean {
  const selection = getSelection();
  if (selection !== null && !selection.isCollapsed && selection.containsNode(region, true)) return true;
  return [...region.querySelectorAll("form")].some(
    (form) =>
      form.contains(document.activeElement) ||
      [...form.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("input, textarea")].some((field) =>
        field instanceof HTMLInputElement && field.type === "checkbox"
          ? field.checked !== field.defaultChecked
          : field.value !== field.defaultValue,
      ),
  );
}

/** Identifies a focusable element before and after a replacement. */
function nameOf(element: Element): string {
  const own = element.getAttribute("href") ?? element.getAttribute("aria-label");
  return own ?? element.closest("details")?.id ?? element.id;
}

function focusable(root: Element, name: string): HTMLElement | undefined {
  return [...root.querySelectorAll<HTMLElement>("a, button, summary")].find((element) => nameOf(element) === name);
}

function takeOver(next: Document): void {
  for (const region of document.querySelectorAll("[data-live]")) {
    const fresh = next.getElementById(region.id);
    if (fresh === null || essence(fresh) === essence(region) || isInUse(region)) continue;
    const { activeElement: active } = document;
    const focused = active !== null && region.contains(active) ? nameOf(active) : null;
    for (const details of region.querySelectorAll("details[open]")) {
      next.getElementById(details.id)?.setAttribute("open", "");
    }
    region.replaceChildren(...fresh.childNodes);
    if (focused !== null) focusable(region, focused)?.focus({ preventScroll: true });
  }
  const said = next.body.dataset["news"] ?? "";
  if (news !== null && said !== (document.body.dataset["news"] ?? "")) news.textContent = said;
  document.body.dataset["news"] = said;
  document.title = next.title;
}

/** Shows the server that the console asks, and not another page of this host: only a page of the console knows the token of its forms. */
function pageToken(): string {
  return document.querySelector<HTMLInputElement>("input[name=token]")?.value ?? "";
}

async function refresh(): Promise<void> {
  const response = await fetch(document.body.dataset["from"] ?? location.href, {
    cache: "no-store",
    headers: { Accept: "text/html", "Onceway-Page": pageToken() },
    redirect: "manual",
    signal: AbortSignal.timeout(GIVE_UP_MS),
  });
  if (response.type === "opaqueredirect" || response.status === 403) {
    isOver = true;
    return say("Your session has ended. Reload the page to sign in.", "lost");
  }
  if (response.status === 404) {
    isOver = true;
    return say("This record no longer exists: it expired or was forgotten.", "lost");
  }
  const next = new DOMParser().parseFromString(await response.text(), "text/html");
  if (next.documentElement.dataset["now"] === undefined) throw new Error(`no page: ${response.status}`);
  lostAt = 0;
  readClock(next);
  // Paused meanwhile.
  if (isPaused) return;
  takeOver(next);
  tick();
  say("Live", "live");
}

async function loop(): Promise<void> {
  try {
    await refresh();
  } catch {
    if (lostAt === 0) lostAt = Date.now();
    const since = new Date(lostAt).toISOString().slice(11, 19);
    if (!isPaused) say(`Connection lost at ${since} UTC. Retrying …`, "lost");
  }
  schedule(REFRESH_MS);
}

function schedule(afterMs: number): void {
  clearTimeout(timer);
  if (isPaused || isOver || document.hidden) return;
  timer = setTimeout(() => void loop(), afterMs);
}

pause?.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.textContent = isPaused ? "Resume" : "Pause";
  say(isPaused ? "Paused" : "Live", isPaused ? "paused" : "live");
  schedule(0);
});
document.addEventListener("visibilitychange", () => schedule(0));

offerCopies();
readClock(document);
tick();
if (document.querySelector("[data-live]") !== null) {
  say("Live", "live");
  document.getElementById("live")?.removeAttribute("hidden");
  setInterval(() => {
    if (!isPaused && !document.hidden) tick();
  }, 1000);
  schedule(REFRESH_MS);
}
