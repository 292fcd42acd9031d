// GraphQL in the Worker: how its requests are read.

import type { GraphqlReader } from "../../kernel/request-feature.ts";
import { readGraphql, unreadDirective } from "./graphql.ts";

export const graphqlReader: GraphqlReader = { read: readGraphql, unreadDirective };
