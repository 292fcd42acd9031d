// The tool call that a profile over MCP repeats: what the options say about it, and the JSON-RPC messages that cases make of it.

export type JsonMembers = Readonly<Record<string, unknown>>;

/** A tool of the server under test whose call takes effect. In arguments `{key}` is a case's own key, and `{token}` a value of its own. */
export interface TargetTool {
  readonly name: string;
  readonly arguments: JsonMembers;
  /** Other valid arguments; `null` if none are known. */
  readonly otherArguments: JsonMembers | null;
  /** A tool that only reads, and needs no arguments; `null` if none is known. */
  readonly readName: string | null;
}

/** One call in a case. */
export interface ToolCall {
  readonly id: number | string;
  /** The target's tool that only reads, without arguments, or a tool of this name. */
  readonly tool?: "read" | { readonly name: string };
  /** The target's other arguments. */
  readonly input?: "other";
  /** In place of arguments of these names; `undefined`: left out. */
  readonly with?: JsonMembers;
  /** As text: members of the message before `params`, and members of `params` after the arguments. */
  readonly before?: string;
  readonly after?: string;
}

/** What the suite's own origin is called with. */
export const TARGET_TOOLS = {
  "ucp-mcp": {
    name: "complete_checkout",
    arguments: { meta: { "idempotency-key": "{key}" }, id: "{token}" },
    otherArguments: { meta: { "idempotency-key": "{key}" }, id: "{token}", payment: { token: "x" } },
    readName: null,
  },
  mcp: { name: "pay", arguments: { amount: 25 }, otherArguments: { amount: 26 }, readName: null },
  adcp: {
    name: "create_media_buy",
    arguments: { idempotency_key: "{key}", account: { account_id: "one" }, budget: 918_273 },
    otherArguments: { idempotency_key: "{key}", account: { account_id: "one" }, budget: 5 },
    readName: "get_adcp_capabilities",
  },
} as const satisfies Readonly<Record<string, TargetTool>>;

export const FIRST_ID = 7;

export function toolCallText(tool: TargetTool, call: ToolCall): string {
  const { name, input } = subjectOf(tool, call);
  const params = `{"name":${JSON.stringify(name)},"arguments":${JSON.stringify({ ...input, ...call.with })}${call.after ?? ""}}`;
  return `{"jsonrpc":"2.0","id":${JSON.stringify(call.id)},"method":"tools/call",${call.before ?? ""}"params":${params}}`;
}

function subjectOf(tool: TargetTool, call: ToolCall): { readonly name: string; readonly input: JsonMembers } {
  if (call.tool === "read") return { name: tool.readName ?? tool.name, input: {} };
  const input = call.input === "other" ? (tool.otherArguments ?? tool.arguments) : tool.arguments;
  return { name: call.tool?.name ?? tool.name, input };
}
