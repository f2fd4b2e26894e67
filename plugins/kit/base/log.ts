// Log is the shape of logging that every room takes; pino fits it, and `openLog` makes one.
// Only the composition roots open a log; everything else is handed one.

import { pino, type DestinationStream } from "pino";

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

/** Facts first, sentence second: `log.info({ pod: "shop/cart-0" }, "container started")`. */
export interface Log {
  trace(facts: object, message?: string): void;
  debug(facts: object, message?: string): void;
  info(facts: object, message?: string): void;
  warn(facts: object, message?: string): void;
  error(facts: object, message?: string): void;
  child(facts: object): Log;
  /** Tells more or less from now on, in every child too; absent where that cannot be changed. */
  setLevel?(level: LogLevel): void;
}

export const logLevels: readonly LogLevel[] = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];

const silent = () => {};
export const noLog: Log = {
  trace: silent,
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  child: () => noLog,
};

/** JSON lines, or a human form where `human` is set. Errors carry a stack only at debug level or below. */
export function openLog(options: { level: LogLevel; human: boolean; to?: DestinationStream }): Log {
  const threshold = { rank: logLevels.indexOf(options.level) };
  const to = options.to ?? pino.destination({ fd: 2, sync: true });
  const writer = pino(
    {
      level: "trace",
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => describeError(error, threshold.rank <= logLevels.indexOf("debug")) },
    },
    options.human ? humanLines(to) : to,
  );
  return leveled(writer, threshold);
}

/** What pino writes, from one threshold on that all children share: pino's own children keep the level they were made with. */
function leveled(writer: Omit<Log, "setLevel">, threshold: { rank: number }): Log {
  const at = (level: "trace" | "debug" | "info" | "warn" | "error") => {
    const rank = logLevels.indexOf(level);
    return (facts: object, message?: string) => {
      if (rank >= threshold.rank) writer[level](facts, message);
    };
  };
  return {
    trace: at("trace"),
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (facts) => leveled(writer.child(facts), threshold),
    setLevel(level) {
      threshold.rank = logLevels.indexOf(level);
    },
  };
}

function describeError(error: unknown, withStack: boolean): unknown {
  if (!(error instanceof Error)) return error;
  const code = (error as { code?: unknown }).code;
  const cause = error.cause instanceof Error ? error.cause.message : undefined;
  return {
    message: error.message,
    ...(code ? { code } : {}),
    ...(cause ? { cause } : {}),
    ...(withStack ? { stack: error.stack } : {}),
  };
}

/** Rewrites pino's JSON lines as `12:30:01 info  message key=value`. */
function humanLines(to: DestinationStream): DestinationStream {
  return {
    write(line: string) {
      const { level, time, msg, err, ...facts } = JSON.parse(line) as Record<string, unknown>;
      const pairs = Object.entries(facts).map(
        ([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
      );
      const error = err === undefined ? "" : `: ${(err as { message?: string }).message ?? JSON.stringify(err)}`;
      const stack = (err as { stack?: string } | undefined)?.stack;
      const text = [String(time).slice(11, 19), String(level).padEnd(5), `${msg ?? ""}${error}`, ...pairs].join(" ");
      to.write(stack ? `${text}\n${stack}\n` : `${text}\n`);
    },
  };
}
