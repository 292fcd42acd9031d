// The few commands of Redis that the proofs need, over its protocol (RESP2), and a server of its own.

import { type Socket, connect } from "node:net";
import { freePort } from "../../../support/ports.ts";
import { type ProcessGroup, spawnGroup } from "../../../support/process-group.ts";
import { programPath } from "../../../support/programs.ts";

export type Reply = string | number | null | readonly Reply[];

export class Redis {
  readonly #socket: Socket;
  readonly #waiting: ((reply: Reply | Error) => void)[] = [];
  #bytes = Buffer.alloc(0);

  constructor(port: number) {
    this.#socket = connect(port, "127.0.0.1");
    this.#socket.on("data", (bytes) => {
      this.#bytes = Buffer.concat([this.#bytes, bytes]);
      for (let read = parse(this.#bytes, 0); read !== null; read = parse(this.#bytes, 0)) {
        this.#bytes = this.#bytes.subarray(read.end);
        this.#waiting.shift()?.(read.reply);
      }
    });
    this.#socket.on("error", (error) => {
      for (const waiting of this.#waiting.splice(0)) waiting(error);
    });
  }

  send(...words: readonly (string | number)[]): Promise<Reply> {
    const parts = words.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`);
    this.#socket.write(`*${words.length}\r\n${parts.join("")}`);
    return new Promise((resolve, reject) => {
      this.#waiting.push((reply) => (reply instanceof Error ? reject(reply) : resolve(reply)));
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}

interface Parsed {
  readonly reply: Reply | Error;
  readonly end: number;
}

/** One reply from `at` on; `null`: it is not all there. */
function parse(bytes: Buffer, at: number): Parsed | null {
  const lineEnd = bytes.indexOf("\r\n", at);
  if (lineEnd === -1) return null;
  const line = bytes.toString("utf8", at + 1, lineEnd);
  const from = lineEnd + 2;
  switch (String.fromCodePoint(bytes[at] ?? 0)) {
    case "+":
      return { reply: line, end: from };
    case "-":
      return { reply: new Error(line), end: from };
    case ":":
      return { reply: Number(line), end: from };
    case "$": {
      const length = Number(line);
      if (length === -1) return { reply: null, end: from };
      return bytes.length < from + length + 2
        ? null
        : { reply: bytes.toString("utf8", from, from + length), end: from + length + 2 };
    }
    default: {
      const replies: Reply[] = [];
      let end = from;
      for (let left = Number(line); left > 0; left -= 1) {
        const one = parse(bytes, end);
        if (one === null) return null;
        if (!(one.reply instanceof Error)) replies.push(one.reply);
        ({ end } = one);
      }
      return { reply: Number(line) === -1 ? null : replies, end };
    }
  }
}

export async function startRedis(dir: string): Promise<{ readonly port: number; readonly group: ProcessGroup }> {
  const port = await freePort();
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no"];
  const ready = Promise.withResolvers<void>();
  const onOutput = (text: string): void => void (text.includes("Ready to accept") && ready.resolve());
  const group = await spawnGroup(programPath("redis"), args, { cwd: dir, env: process.env, onOutput });
  await Promise.race([ready.promise, group.exited]);
  if (group.hasExited()) throw new Error(`redis-server did not start:\n${group.output()}`);
  return { port, group };
}
