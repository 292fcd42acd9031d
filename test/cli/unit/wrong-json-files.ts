// Files as newcomers write them who have a wrangler.jsonc: what can be wrong in JSON only.

const SOUND = `{
  "name": "gateway",
  "compatibility_date": "2026-10-01",
  "compatibility_flags": ["enable_request_signal"],
  // Every record lives in one of these objects.
  "durable_objects": { "bindings": [{ "name": "KEY_SHARD", "class_name": "KeyShard" }] },
  "migrations": [{ "tag": "v1", "new_sqlite_classes": ["KeyShard"] }],
  "vars": {
    "IDEMPOTENCY": { "origin": "https://api.acme.com", "location_hint": "weur" },
    "ROUTES": [
      { "path": "/v1/payments", "methods": ["POST"] },
    ],
  },
}
`;

function replaced(part: string, other: string): string {
  if (!SOUND.includes(part)) throw new Error(part);
  return SOUND.replace(part, () => other);
}

/** Comments, and commas at the end of lists. */
export const SOUND_JSON_FILE = SOUND;

/** By what is wrong with them. */
export const WRONG_JSON_FILES: Readonly<Record<string, string>> = {
  nothing: "",
  "only a comment": "// the gateway\n",
  "a list": '[{ "name": "gateway" }]\n',
  TOML: 'name = "gateway"\n[vars.IDEMPOTENCY]\n',
  "single quotes": replaced('"/v1/payments"', "'/v1/payments'"),
  "curly quotes": replaced('"/v1/payments"', "“/v1/payments”"),
  "a name without quotes": replaced('"path"', "path"),
  "text without quotes": replaced('"/v1/payments"', "/v1/payments"),
  "a duration without quotes": replaced('"methods": ["POST"]', '"timeout": 30s'),
  "an open quote": replaced('"gateway"', '"gateway'),
  "a word of Python": replaced('"methods": ["POST"]', '"encrypt_responses": True'),
  "an undefined value": replaced('"methods": ["POST"]', '"timeout": undefined'),
  "a null": replaced('["POST"]', "null"),
  "an equals sign": replaced('"name":', '"name" ='),
  "a comment of the shell": replaced("//", "#"),
  "an open comment": replaced("// Every", "/* Every"),
  "no comma between members": replaced('"gateway",', '"gateway"'),
  "no comma between entries": replaced('["POST"] },', '["POST"] }\n      { "path": "/v1/orders" }'),
  "two commas": replaced('"gateway",', '"gateway",,'),
  "no colon": replaced('"name":', '"name"'),
  "no value": replaced('"name": "gateway"', '"name":'),
  "an open object": replaced("},\n}\n", "},\n"),
  "an open list": replaced("    ],\n", ""),
  "a brace too many": `${SOUND}}\n`,
  "a regular expression": replaced('"methods"', '"key_format": { "pattern": "^\\d+$" }, "methods"'),
  "a name twice": replaced('"ROUTES": [', '"ROUTES": [],\n    "ROUTES": ['),
  "a merge conflict": replaced('  "name"', '<<<<<<< HEAD\n  "name"'),
  "a secret without a comma": replaced('"vars": {', '"vars": {\n    "API_TOKEN": "hunter2hunter2"'),
  "a route at the top": replaced('"vars": {', '"ROUTES": [{ "path": "/v1/orders" }],\n  "vars": {'),
  "several lines of flags": replaced('["enable_request_signal"]', '[\n    "nodejs_compat"\n  ]'),
};
