// The formats that schemas may ask of text, and patterns, in linear time whatever they are.

import { isIP } from "node:net";
import { RE2JS } from "re2js";

const patterns = new Map<string, RE2JS | undefined>();

/** Undefined for patterns that the engine does not take. */
export function compilePattern(pattern: string): RE2JS | undefined {
  if (!patterns.has(pattern)) {
    // A hostile schema must not fill the memory.
    if (patterns.size > 1000) patterns.clear();
    try {
      patterns.set(pattern, RE2JS.compile(pattern));
    } catch {
      patterns.set(pattern, undefined);
    }
  }
  return patterns.get(pattern);
}

export function matchesPattern(pattern: string, text: string): boolean {
  return compilePattern(pattern)?.matcher(text).find() ?? true;
}

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

const checks: Record<string, (text: string) => boolean> = {
  "date-time": (text) => /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}/.test(text) && !Number.isNaN(Date.parse(text)),
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)),
  email: (text) => /^[^@\s]{1,64}@[^@\s]{1,255}$/.test(text),
  hostname: (text) => text.length <= 253 && /^[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?$/.test(text),
  ipv4: (text) => isIP(text) === 4,
  ipv6: (text) => isIP(text) === 6,
  cidr: (text) => /^[0-9a-fA-F.:]+\/\d{1,3}$/.test(text) && isIP(text.split("/")[0] ?? "") !== 0,
  uri: (text) => URL.canParse(text),
  uuid: (text) => uuid.test(text),
  uuid3: (text) => uuid.test(text),
  uuid4: (text) => uuid.test(text),
  uuid5: (text) => uuid.test(text),
  byte: (text) => /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0,
  duration: (text) => /^-?(\d+(\.\d+)?(ns|us|µs|ms|s|m|h|d|w))+$/.test(text),
  mac: (text) => /^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i.test(text),
};

/** Formats that are not known are not checked. */
export function matchesFormat(format: string, text: string): boolean {
  return Object.hasOwn(checks, format) ? (checks[format]?.(text) ?? true) : true;
}
