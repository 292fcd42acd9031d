// The action that closes a layout, as the OpenAPI document describes it and the command line calls it.

import { layoutSchema } from "../../../operator/gateway-schema.ts";
import type { OpenApiFeature } from "../../../operator/openapi-components.ts";
import { documentedAction } from "../../../operator/schema-members.ts";
import { closeLayout } from "./close-request-schema.ts";

export const closeLayoutAction = documentedAction(closeLayout, {
  id: "closeLayout",
  summary: "Closes every object of a previous layout: no key begins there from then on.",
  description:
    "Closes the objects that are still open, for the layout that follows it in the configuration. Cannot be undone, and loses nothing: the records live on. Refused for a layout in force, while objects of an older layout are open, and if an object of the layout that follows is closed. Objects that do not answer are named in unreachable and stay open: send it again.",
  request: "CloseLayout",
  members: { layout: { description: "As GET /layouts names it.", example: "64" } },
  answer: { description: "The layout as it is now.", name: "Layout", schema: layoutSchema },
});

export const previousShardsOpenApi: OpenApiFeature = { name: "previous-shards", actions: [closeLayoutAction] };
