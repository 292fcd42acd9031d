// The tool of every server here: each call that reaches it takes effect, and has a receipt of its own.

import { z } from "zod";

export const PORT = Number(process.argv[2]);
export const INFO = { name: "shop", version: "1.0.0" };
export const INPUT = { amount: z.number() };

let receipts = 0;

export function pay({ amount }) {
  receipts += 1;
  return `paid ${amount}, receipt ${receipts}`;
}

export const content = (order) => ({ content: [{ type: "text", text: pay(order) }] });
