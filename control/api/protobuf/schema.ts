// The field table as look-ups: which message a kind is, and what each of its field numbers means. Read when first asked.

import { fields } from "./fields.ts";

export interface Field {
  /** Empty when the message's fields stand in the enclosing object. */
  readonly name: string;
  readonly keepsZero: boolean;
  readonly shape: "one" | "list" | "map";
  /** A scalar's letter, or the id of a message. */
  readonly type: string;
}

export type Message = ReadonlyMap<number, Field>;

interface Schema {
  readonly messages: ReadonlyMap<string, Message>;
  readonly packageOf: ReadonlyMap<string, string>;
}

let schema: Schema | undefined;

/** The message of a kind; options of deletes and the like are the same in every group. */
export function messageOf(apiVersion: string, kind: string): Message | undefined {
  schema ??= read(fields);
  const home = schema.packageOf.get(apiVersion);
  return (home && schema.messages.get(`${home}.${kind}`)) || schema.messages.get(`meta/v1.${kind}`);
}

export function messageById(id: string): Message | undefined {
  schema ??= read(fields);
  return schema.messages.get(id);
}

const pattern = /^(\d+)([^:?]+)(\??):([*%]?)(.+)$/;
const shapes = { "": "one", "*": "list", "%": "map" } as const;

function read(text: string): Schema {
  const messages = new Map<string, Message>();
  const packageOf = new Map<string, string>();
  let home = "";
  for (const line of text.trim().split("\n")) {
    if (line.startsWith("=")) {
      const [, name = "", apiVersion = ""] = line.split(" ");
      home = name;
      packageOf.set(apiVersion, name);
      continue;
    }
    const colon = line.indexOf(":");
    const message = new Map<number, Field>();
    for (const word of line.slice(colon + 1).split(" ")) {
      const match = pattern.exec(word);
      if (!match) continue;
      const [, number, name = "", flag, shape = "", type = ""] = match;
      const isMessage = type.length > 1;
      message.set(Number(number), {
        name: name === "." ? "" : name,
        keepsZero: flag === "?",
        shape: shapes[shape as keyof typeof shapes],
        type: isMessage && !type.includes(".") ? `${home}.${type}` : type,
      });
    }
    messages.set(`${home}.${line.slice(0, colon)}`, message);
  }
  return { messages, packageOf };
}
