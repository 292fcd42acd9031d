// The operation of the operator API that closes a layout, as the OpenAPI document describes it.

import { LAYOUT, type OpenApiFeature } from "../../../operator/openapi-components.ts";
import { describedAnswer, operationObject } from "../../../operator/openapi-operation.ts";

export const previousShardsOpenApi: OpenApiFeature = {
  name: "previous-shards",
  schemas: {},
  paths: {
    "/layouts/{layout}/close": {
      post: operationObject({
        id: "closeLayout",
        summary: "Closes every object of a previous layout: no key begins there from then on.",
        description:
          "Closes the objects that are still open, for the layout that follows it in the configuration. Cannot be undone, and loses nothing: the records live on. Refused for a layout in force, while objects of an older layout are open, and if an object of the layout that follows is closed. Objects that do not answer are named in unreachable and stay open: send it again. A body is not read.",
        isAdmins: true,
        parameters: [LAYOUT],
        answer: describedAnswer("The layout as it is now.", "Layout"),
        problems: ["Invalid", "Forbidden", "Unavailable"],
      }),
    },
  },
};
