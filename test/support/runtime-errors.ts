// What workerd says of errors that nothing has caught: kept out of the output if the test that caused one has declared it, and a
// failure of the run if none has.

import type { Reporter, TestModule } from "vitest/node";
import type { ExpectedErrors } from "./integration/expected-errors.ts";

/** Where a test declares them: test/support/integration/expected-errors.ts. */
const META: ExpectedErrors = "expectedErrors";

const UNCAUGHT = /^uncaught exception; /u;
/** A client or an origin that goes away, or has no address, is not an error of the gateway, and neither is a request whose file has ended. */
const DISCONNECTED =
  /^(?:exception = [^\n]*: disconnected: |Socket proxy disconnected abruptly; |failed to invoke drain\(\) on IncomingRequest )/u;

/** Fails the run if workerd has reported an error that no test of the run had declared, and shows it. */
export class RuntimeErrors implements Reporter {
  readonly #seen: string[] = [];
  #isRunning = false;

  /** The plugin writes each message of workerd with one call to a stream of this process, and has no option for them. */
  constructor() {
    for (const stream of [process.stdout, process.stderr]) {
      const write = stream.write.bind(stream);
      stream.write = (chunk: string | Uint8Array, ...rest: []): boolean =>
        (this.#isRunning && typeof chunk === "string" && this.#keeps(chunk)) || write(chunk, ...rest);
    }
  }

  #keeps(chunk: string): boolean {
    if (UNCAUGHT.test(chunk)) this.#seen.push(chunk);
    return UNCAUGHT.test(chunk) || DISCONNECTED.test(chunk);
  }

  onTestRunStart(): void {
    this.#isRunning = true;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    this.#isRunning = false;
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const declared = tests.flatMap((test) => test.meta()[META] ?? []);
    const unexpected = this.#seen.splice(0).filter((message) => !declared.some((text) => message.includes(text)));
    if (unexpected.length === 0) return;
    process.exitCode = 1;
    console.error(
      ` The runtime reported errors that no test had declared: ${unexpected.length}\n${unexpected.join("")}`,
    );
  }
}
