// What a check of the configuration finds: where, what, and, where that is certain, what to write instead. Says nothing about
// lines and columns: whoever has the file finds them from the path (cli/findings/source-ranges.ts).

/** Each kind of problem with what it means. The codes are an interface: `check --json` gives them to scripts. */
export const PROBLEM_CODES = {
  "toml-invalid": "the file is not TOML",
  "json-invalid": "the file is not JSON, or has a name twice",
  "setting-invalid": "the value is not one that the setting takes",
  "setting-unknown": "there is no setting of that name",
  "setting-misplaced": "the setting or table belongs elsewhere in the file",
  "setting-missing": "the table needs this setting",
  "setting-unused": "it has no effect",
  "settings-contradict": "two settings that cannot both apply",
  "protection-weakened": "it applies, and lets through what the gateway is for",
  "routes-missing": "nothing is protected",
  "route-unreachable": "no request reaches the route",
  "origin-missing": "requests have nowhere to go",
  "worker-unreachable": "no request reaches the Worker",
  "binding-missing": "a binding that is used and not declared",
  "storage-missing": "the objects have no storage",
  "compatibility-invalid": "the platform's date or flags",
  "main-invalid": "the Worker's program does not export what the file names",
  "file-redirected": "a build has redirected Wrangler to another file",
  "queue-invalid": "messages would be lost, or never processed",
  "environment-incomplete": "an environment does not inherit it",
  "variable-too-large": "more than the platform takes",
  "secret-in-file": "a secret that everybody who has the file can read",
  "records-forgotten": "records of the gateway that runs would be forgotten (`--against`)",
  "requests-refused": "requests that pass now would be refused (`--against`)",
  "origin-placeholder": "an address from an example",
  "origin-unreachable": "this machine finds nothing at the address",
  "keys-missing": "an issuer's keys are not where the file says",
  "placement-undecided": "nothing says where the objects are created",
  "placement-unsuitable": "the objects, or the Worker, end up far from where they are needed",
  "operators-shared": "operators and clients use one host",
} as const;

export type ConfigProblemCode = keyof typeof PROBLEM_CODES;

/** One thing that is wrong with a configuration. */
export interface ConfigProblem {
  /** `ROUTES[2].lock`; in a file with environments `env.staging.ROUTES[2].lock`. */
  readonly path: string;
  /** What is wrong, a colon, and what to do: `must exceed timeout (30s): write lock = "40s"`. */
  readonly message: string;
  /** @default "setting-invalid" */
  readonly code?: ConfigProblemCode;
  /** Only where nothing else can be meant. */
  readonly fix?: SettingReplacement;
  /** Other paths that one has to see to understand the problem, each with what it is. */
  readonly related?: readonly RelatedPlace[];
}

/** What to write instead of what `path` names. */
export interface SettingReplacement {
  readonly replace: "key" | "value";
  /** As it stands in TOML: text has quotes. */
  readonly text: string;
}

export interface RelatedPlace {
  readonly path: string;
  readonly label: string;
}

/** Text as a value of TOML: a JSON string is a basic string. */
export function valueFix(text: string): SettingReplacement {
  return { replace: "value", text: JSON.stringify(text) };
}

/** What an environment does not inherit, so that its own has to be written. */
const OWN_TABLES = /(?<=\[)(?=(?:vars|services|ratelimits|queues|r2_buckets|durable_objects)\b)/g;

/** The tables that a problem names are those of its environment: `[env.staging.vars.IDEMPOTENCY]`. */
export function ofEnvironment(name: string | null): (problem: ConfigProblem) => ConfigProblem {
  if (name === null) return (problem) => problem;
  return (problem) => ({ ...problem, message: problem.message.replaceAll(OWN_TABLES, `env.${name}.`) });
}

/** For a function that finds problems: each below this path, as in `env.staging.`. */
export function problemsBelow(prefix: string): (problem: ConfigProblem) => ConfigProblem {
  if (prefix === "") return (problem) => problem;
  return ({ related, ...problem }) => ({
    ...problem,
    path: prefix + problem.path,
    ...(related === undefined ? {} : { related: related.map((one) => ({ ...one, path: prefix + one.path })) }),
  });
}
