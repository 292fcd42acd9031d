// The parser of the conformance suite, under the name that the tests use.

export * from "../../src/conformance/http-response.ts";
