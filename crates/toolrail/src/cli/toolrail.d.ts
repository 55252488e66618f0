// What Toolrail gives to scripts beside the language and the web's usual names. Printed by `toolrail types`.

/** What a script is called with. */
interface ToolRequest {
  method: 'tools/call';
  params: { name: string; arguments: Record<string, unknown> };
}

/** A block of a result. */
interface ToolContent {
  type: string;
  text?: string;
  [more: string]: unknown;
}

/** A result as MCP has it. A script may return any other JSON value instead. */
interface ToolResult {
  content: ToolContent[];
  structuredContent?: unknown;
  isError?: boolean;
  [more: string]: unknown;
}

/** The second argument of a script's function. */
interface ToolContext {
  /** Aborted when nobody waits for the call any more. */
  readonly signal: AbortSignal;
  /** Tells the client how far the call has got, if it wants to know. */
  progress(progress: number, total?: number, message?: string): void;
  /** Sends a log message to the client, if it wants messages of that level. */
  log(level: 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency', data: unknown): void;
}

/** Calls a tool of this gateway, as whoever called the script; never throws for a tool that fails. */
declare function callToolHandler(
  request: { params: { name: string; arguments?: Record<string, unknown> } },
  caller?: string,
): Promise<ToolResult>;

/** The secrets that `script.secrets` of the tool lists. */
declare const secrets: { get(name: string): Promise<string> };

declare module 'toolrail' {
  export { callToolHandler, secrets };
}

declare module '@modelcontextprotocol/sdk' {
  /** What a script exports as `schema`. */
  export type ToolSchema = Record<string, unknown>;
}
