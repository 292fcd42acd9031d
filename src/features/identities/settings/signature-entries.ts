// The members of `signature` in `[vars.IDENTITIES.NAME]`, each declared once: schema, default and documentation.

import * as v from "valibot";

import { AGENT_HEADERS, FRESHNESS_RULES, type TrustedAgents } from "../../../kernel/config/identity.ts";
import {
  choiceSetting,
  defaultsOf,
  parsedSetting,
  repeatedEntry,
  settingOf,
  type TextsOf,
} from "../../../kernel/config/setting-kinds.ts";
import { firstRepeated } from "../../../kernel/config/values.ts";
import { parseTrust } from "../signature/agent-url.ts";

/** What changing a member does that gives callers other names. */
export const RENAMES =
  "**names other records**: describe a second identity instead, and list the first in `previous_scope`";

const AGENT_MESSAGE = 'must be a list: write agent = ["ucp-agent", "signature-agent"]';
const TRUST_MESSAGE = 'must be a list of URLs: write trust = ["https://platform.example/.well-known/ucp"]';

/** Members of `signature`. */
export const signatureEntries = {
  agent: settingOf(
    v.pipe(
      v.array(choiceSetting(AGENT_HEADERS), AGENT_MESSAGE),
      v.metadata({ minItems: 1, takes: 'a list of `"ucp-agent"`, `"signature-agent"`' }),
      v.minLength(1, AGENT_MESSAGE),
      v.check((list) => firstRepeated(list) === null, repeatedEntry),
    ),
    [...AGENT_HEADERS],
  ),
  trust: settingOf(
    v.pipe(
      v.array(
        v.pipe(
          v.string(TRUST_MESSAGE),
          v.metadata({ examples: ["https://platform.example/.well-known/ucp", "https://*.example.com/*"] }),
          parsedSetting<string, TrustedAgents>(parseTrust),
        ),
        TRUST_MESSAGE,
      ),
      v.metadata({ minItems: 1 }),
      v.minLength(1, TRUST_MESSAGE),
      v.check(
        (list) => firstRepeated(list.map((one) => JSON.stringify(one))) === null,
        "lists a URL twice: write it once",
      ),
    ),
  ),
  freshness: settingOf(choiceSetting(FRESHNESS_RULES), "if-present"),
};

export const signatureTexts: TextsOf<typeof signatureEntries> = {
  agent: {
    description:
      "The headers that may name the document with a signature's keys: `ucp-agent` the `profile` of `UCP-Agent`, and `signature-agent`, " +
      'for signatures with `tag="web-bot-auth"`, the member of `Signature-Agent` with the signature\'s label. Where both are listed, ' +
      "such signatures count for `Signature-Agent` alone.",
    onChange: RENAMES,
  },
  trust: {
    description:
      "The URLs whose keys count. `https://*.example.com/*` means every path of the hosts one name below that domain; without `*`, one URL. " +
      "Redirects are not followed.",
    takes:
      "a list of https URLs, or http on the same machine, with `*` for the first name of the host or for the end of the path",
    otherwise: "none: every signature identity needs it",
    onChange: "applies at once",
  },
  freshness: {
    description:
      'Whether a signature must have `created` and `expires` (`"required"`). With `"if-present"` they count where they are there.',
    onChange: "applies at once",
  },
};

export const signatureSchema = v.strictObject(signatureEntries);

/** What applies to members that are left out. */
export const SIGNATURE_DEFAULTS = v.parse(
  v.required(v.pick(signatureSchema, ["agent", "freshness"])),
  defaultsOf(signatureEntries),
);
