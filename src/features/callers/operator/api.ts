// The operation of the operator API that forgets all records of one caller.

import type { Context, Hono } from "hono";
import type { OperatorAuth } from "../../../operator/access/auth.ts";
import { invalid, readAdminRequest, type Variables } from "../../../operator/admin-request.ts";
import { parseJson } from "../../../operator/change-request.ts";
import type { ScopeErasedView } from "./schema.ts";
import type { ForgetScope } from "./forgetting.ts";
import { noScopeText, parseScopeRequest } from "./request.ts";

export function addForgetScope(app: Hono<Variables>, auth: OperatorAuth, forget: ForgetScope): void {
  app.post("/scopes/forget", (context) => forgetScope(context, auth, forget));
}

async function forgetScope(context: Context<Variables>, auth: OperatorAuth, forget: ForgetScope): Promise<Response> {
  const parsed = await readAdminRequest(context, auth, (bytes) => parseScopeRequest(parseJson(bytes)));
  if (parsed instanceof Response) return parsed;
  if (!parsed.ok) return invalid(parsed.reason);
  const result = await forget({ ...parsed.value, by: context.get("actor") });
  switch (result.kind) {
    case "done": {
      const { kind: _, ...view } = result;
      return context.json<ScopeErasedView>(view);
    }
    case "no-scope":
      return invalid(noScopeText(result.scopes));
    case "no-cursor":
      return invalid("cursor must come from the call before, and the shards must not have changed since: start again.");
  }
}
