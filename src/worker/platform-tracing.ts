// The platform's own traces (Workers Observability, OTLP). A runtime from before June 2026 has none, and would not start with an import by name.

import * as workers from "cloudflare:workers";
import type { PlatformTracing } from "../kernel/traffic/platform-span.ts";

export const platformTracing: PlatformTracing | undefined = workers.tracing;
