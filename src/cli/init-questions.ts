// What `onceway init` asks on a terminal, for what its options leave open: ten questions at most, and Enter takes each one's default. Each
// answer is checked by the rules that apply to the file.

import { basename } from "node:path";

import { askChoice, askText, type TerminalDialogue } from "./ask.ts";
import {
  API_REGIONS,
  type ApiRegion,
  type CallerIdentity,
  issuerProblem,
  nameProblem,
  originProblem,
  pathsProblem,
  type PlanAnswers,
  USUAL,
  REGIONS,
  USUAL_VERIFY,
  verifyProblem,
} from "./init-plan.ts";

const FALLBACK_NAME = "onceway";

/** A Worker's name by its folder: two gateways of one account must not replace each other. */
export function nameFor(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 63);
  return nameProblem(name) === undefined ? name : FALLBACK_NAME;
}

/** Throws a Failure if the user cancels (Ctrl-C, Escape). */
export async function askWhatIsMissing(
  given: Partial<PlanAnswers>,
  usualName: string,
  dialogue: TerminalDialogue,
): Promise<PlanAnswers> {
  const ask = (message: string, usual: string, problem: (value: string) => string | undefined): Promise<string> =>
    askText(dialogue, {
      message,
      placeholder: usual,
      defaultValue: usual,
      validate: (value) => (value === undefined || value === "" ? undefined : problem(value)),
    });
  const origin =
    given.origin === undefined
      ? await ask("Which API does the gateway stand in front of?", "https://api.example.com", originProblem)
      : given.origin;
  const routes =
    given.routes ??
    splitPaths(
      await ask(
        "Which paths does it protect? (separated by spaces; the first that matches counts)",
        "/v1/payments/*",
        (value) => pathsProblem(splitPaths(value)),
      ),
    );
  const caller = given.caller ?? (await askCaller(dialogue, ask, origin));
  const { unknown, verify } =
    given.unknown === undefined
      ? await askUnknown(dialogue, ask)
      : { unknown: given.unknown, verify: given.verify ?? null };
  const near = given.near === undefined ? await askNear(dialogue) : given.near;
  const label =
    given.label === undefined
      ? blankAsNull(
          await ask(
            "Which value of a request do you search for in the console? json:/order_id, header:NAME, query:NAME (Enter: none)",
            "",
            () => undefined,
          ),
        )
      : given.label;
  const name = given.name ?? (await ask("What is the Worker called?", usualName, nameProblem));
  return { name, origin, routes, caller, unknown, verify, near, label };
}

type Ask = (message: string, usual: string, problem: (value: string) => string | undefined) => Promise<string>;

async function askCaller(dialogue: TerminalDialogue, ask: Ask, origin: string | null): Promise<CallerIdentity> {
  const kind = await askChoice<CallerIdentity["kind"]>(dialogue, {
    message: "How does the API know who calls it?",
    options: [
      { value: "header", label: "by an API key in a header" },
      { value: "token", label: "by a token that is refreshed (OAuth, OpenID Connect, JWT)" },
      { value: "cookie", label: "by a session in a cookie" },
      { value: "nobody", label: "it does not", hint: "all callers share their keys" },
    ],
    initialValue: USUAL.caller.kind,
  });
  switch (kind) {
    case "header": {
      const name = await ask("Which header?", USUAL.caller.name, (value) => tokenProblem("a header", value));
      return { kind, name: name.toLowerCase() };
    }
    case "token": {
      const issuer = await ask("Who issues the tokens (their iss)?", "https://login.example.com", issuerProblem);
      const audience = await ask(
        "For whom are they (their aud)?",
        origin ?? "https://api.example.com",
        () => undefined,
      );
      return { kind, issuer, audience };
    }
    case "cookie":
      return { kind, name: await ask("Which cookie?", "session", (value) => tokenProblem("a cookie", value)) };
    case "nobody":
      return { kind };
  }
}

async function askUnknown(dialogue: TerminalDialogue, ask: Ask): Promise<Pick<PlanAnswers, "unknown" | "verify">> {
  const unknown = await askChoice<PlanAnswers["unknown"]>(dialogue, {
    message: "If a call breaks off and nobody knows whether it happened:",
    options: [
      { value: "hold", label: "wait for a person", hint: "money" },
      { value: "verify", label: "ask the API", hint: "it can look up a key" },
      { value: "retry", label: "call again", hint: "only if twice does no harm" },
    ],
    initialValue: USUAL.unknown,
  });
  if (unknown !== "verify") return { unknown, verify: null };
  return {
    unknown,
    verify: await ask("Where does it tell of a key? (404: it did not happen)", USUAL_VERIFY, verifyProblem),
  };
}

const NOT_KNOWN = "not-known";

async function askNear(dialogue: TerminalDialogue): Promise<ApiRegion | null> {
  const near = await askChoice<ApiRegion | typeof NOT_KNOWN>(dialogue, {
    message: "Where does the API run? Records are kept near it.",
    options: [
      { value: NOT_KNOWN, label: "I do not know", hint: "npx onceway check will ask for it" },
      ...REGIONS.map((value) => {
        const { title, price } = API_REGIONS[value];
        return price === null ? { value, label: title } : { value, label: title, hint: price };
      }),
    ],
    initialValue: NOT_KNOWN,
  });
  return near === NOT_KNOWN ? null : near;
}

/** Names of headers and cookies (RFC 9110, section 5.6.2). */
function tokenProblem(what: string, value: string): string | undefined {
  return /^[!#$%&'*+.^`|~\w-]+$/.test(value) ? undefined : `is no name of ${what}`;
}

function blankAsNull(value: string): string | null {
  return value === "" ? null : value;
}

function splitPaths(value: string): readonly string[] {
  return value.split(/\s+/).filter((path) => path !== "");
}
