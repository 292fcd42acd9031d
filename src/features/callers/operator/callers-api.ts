// The operation of the operator API that forgets all records of one caller.

import type { Hono } from "hono";
import { invalidRequest, parseBody, type RequestVariables } from "../../../operator/admin-request.ts";
import type { ScopeErasedView } from "./callers-schema.ts";
import type { ScopeForgetter } from "./forgetting.ts";
import { noScopeText, parseScopeRequest } from "./request.ts";

export function addForgetScope(app: Hono<RequestVariables>, forget: ScopeForgetter): void {
  const parsed = parseBody(parseScopeRequest);
  app.post("/scopes/forget", parsed, async (context) => {
    const result = await forget({ ...context.get("parsed"), by: context.get("actor") });
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
  });
}
