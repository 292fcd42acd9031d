// Runs after each test file that shares its workerd with others: its objects would go on with their alarms, and call the origin
// of the next file.

import { reset } from "cloudflare:test";
import { afterAll } from "vitest";

afterAll(() => reset());
