// The demo's page: shows what the server tells, and starts a run for each button. All text is set as text.

const NEWEST_KEYS = 20;

/** @param {string} id */
function part(id) {
  const element = document.querySelector(`#${id}`);
  if (element === null) throw new Error(`the page has no #${id}`);
  return element;
}

/**
 * @param {string} name
 * @param {string} text
 * @param {string} [look]
 */
function make(name, text, look = "") {
  const element = document.createElement(name);
  element.textContent = text;
  if (look !== "") element.className = look;
  return element;
}

/** @param {string} label "201, replayed" */
function lookOf(label) {
  return label.startsWith("2") ? "good" : "bad";
}

/** What a link to the console has to bring: it is good for one sign-in, and the next event brings another. */
let ticket = "";

/** Opens the console at the record of `key`, signed in. */
function recordLink(key) {
  const element = make("a", "its record");
  element.href = `/console?${new URLSearchParams({ key, ticket })}`;
  element.target = "_blank";
  return element;
}

function stepRow({ what, key, path, answers, pending, meaning }) {
  const row = document.createElement("tr");
  const sent = make("td", `${what} `);
  sent.append(make("code", key === "" ? "" : `${path} ${key}`));
  if (key !== "" && pending === 0) sent.append(" ", recordLink(key));
  const got = document.createElement("td");
  const list = document.createElement("ul");
  const counted = Object.entries(answers);
  for (const [label, count] of counted) {
    list.append(make("li", counted.length === 1 && count === 1 ? label : `${count} × ${label}`, lookOf(label)));
  }
  if (pending > 0) list.append(make("li", pending === 1 ? "waiting …" : `${pending} waiting …`));
  got.append(list);
  row.append(sent, got, make("td", meaning));
  return row;
}

function countRows(requests, effects) {
  const rows = Object.entries(requests)
    .toReversed()
    .slice(0, NEWEST_KEYS)
    .map(([name, count]) => {
      const row = document.createElement("tr");
      row.append(make("td", name), make("td", String(count)), make("td", String(effects[name] ?? 0)));
      return row;
    });
  if (rows.length > 0) return rows;
  const row = document.createElement("tr");
  row.append(make("td", "nothing yet"), make("td", ""), make("td", ""));
  return [row];
}

function link(id, url) {
  const element = part(id);
  element.setAttribute("href", url);
  element.textContent = url;
}

function show({
  ticket: next,
  gateway,
  console: operators,
  origin,
  sent,
  calls,
  steps,
  running,
  canRepeat,
  requests,
  effects,
}) {
  ticket = next;
  link("gateway", gateway);
  link("console", `/console?${new URLSearchParams({ ticket })}`);
  part("console").textContent = operators;
  const deaths = origin.kills === 0 ? "" : `, killed ${origin.kills === 1 ? "once" : `${origin.kills} times`} so far`;
  part("origin").textContent = origin.pid === null ? `starts again${deaths}` : `runs as process ${origin.pid}${deaths}`;
  part("sent").textContent = String(sent);
  part("calls").textContent = String(calls.requests);
  part("effects").textContent = String(calls.effects);
  if (steps.length > 0) part("steps").replaceChildren(...steps.toReversed().map(stepRow));
  part("by-route").replaceChildren(...countRows(requests.byRoute, effects.byRoute));
  part("by-key").replaceChildren(...countRows(requests.byKey, effects.byKey));
  for (const button of document.querySelectorAll("[data-run]")) {
    const isLast = ["repeat", "reuse"].includes(button.getAttribute("data-run") ?? "");
    // A button that is really disabled would lose the focus of the keyboard.
    button.setAttribute("aria-disabled", String(running !== null || (isLast && canRepeat === false)));
  }
  const last = steps.at(-1);
  if (running === null) part("state").textContent = last === undefined ? "" : `${last.what}: ${last.meaning}`;
}

const SILENT = "The demo does not answer. Is npm start still running?";

/** @param {string} run */
async function start(run) {
  try {
    await fetch(`/runs/${run}`, { method: "POST" });
  } catch {
    part("state").textContent = SILENT;
  }
}

for (const button of document.querySelectorAll("[data-run]")) {
  button.addEventListener("click", () => {
    if (button.getAttribute("aria-disabled") !== "true") void start(button.getAttribute("data-run") ?? "");
  });
}

// The browser opens it again by itself.
const events = new EventSource("/events");
events.addEventListener("message", ({ data }) => show(JSON.parse(data)));
events.addEventListener("error", () => {
  part("state").textContent = SILENT;
});

const commands = await fetch("/commands");
part("commands").textContent = await commands.text();
