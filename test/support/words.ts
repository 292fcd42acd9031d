// The words of one surface as one document, test/words/NAME.txt: what was asked or written, then what is said about it.

import { join } from "node:path";
import { expect } from "vitest";
import { projectDir } from "./wrangler.ts";

export interface Said {
  readonly asked: string;
  readonly words: string;
}

/** Fails if the words are not the approved ones. With `-u`, vitest writes them anew. */
export async function expectApproved(name: string, said: readonly Said[]): Promise<void> {
  const sections = said.map(({ asked, words }) => `## ${asked.trimEnd()}\n\n${words.trimEnd()}\n`.toWellFormed());
  await expect(sections.join("\n")).toMatchFileSnapshot(join(projectDir, "test/words", `${name}.txt`));
}
