import { expect, it } from "vitest";
import { inertAnswer } from "../../../../src/features/accepted/inert-answer.ts";

const locationOf = (status: number, destination: string): string | null => {
  const answer = new Response(null, { status, headers: { location: "https://other.example/" } });
  return inertAnswer(answer, new Headers({ "sec-fetch-dest": destination })).headers.get("location");
};

it.each([300, 303, 399])("an answer with %d leads a browser nowhere, and tells a script where it would", (status) => {
  expect(locationOf(status, "document")).toBeNull();
  expect(locationOf(status, "empty")).toBe("https://other.example/");
});

it.each([201, 299, 400])("an answer with %d names the result that it describes", (status) => {
  expect(locationOf(status, "document")).toBe("https://other.example/");
});
