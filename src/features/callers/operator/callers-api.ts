// The operation of the operator API that forgets all records of one caller.

import type { Context, Hono } from "hono";
import type { OperatorAuth } from "../../../operator/access/auth.ts";
import { invalidRequest, readAdminRequest, type RequestVariables } from "../../../operator/admin-request.ts";
import { parseJsonBody } from "../../../operator/change-request.ts";
import type { ScopeErasedView } from "./callers-schema.ts";
import type { ScopeForgetter } from "./forgetting.ts";
import { noScopeText, parseScopeRequest } from "./request.ts";

export function addForgetScope(app: Hono<RequestVariables>, auth: OperatorAuth, forget: ScopeForgetter): void {
  app.post("/scopes/forget", (context) => forgetScope(context, auth, forget));
}

async function forgetScope(
  context: Context<RequestVariables>,
  auth: OperatorAuth,
  forget: ScopeForgetter,
): Promise<Response> {
  const parsed = await readAdminRequest(context, auth, (bytes) => parseScopeRequest(parseJsonBody(bytes)));
  if (parsed instanceof Response) return parsed;
  if (!parsed.ok) return invalidRequest(parsed.reason);
  const result = await forget({ ...parsed.value, by: context.get("actor") });
  switch (result.kind) {
    case "done": {
      const { kind: _, ...view } = result;
      return context.json<ScopeErasedView>(view);
    }
    case "no-scope":
      return invalidRequest(noScopeText(result.scopes));
    case "no-cursor":
      return invalidRequest(
        "cursor must come from the call before, and the shards must not have changed since: start again.",
      );
  }
}
