// Authenticates tokens listed in a file: lines of `token,user,uid,"group1,group2"`.

import { createHash } from "node:crypto";
import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { TokenAuthenticator } from "./contract.ts";

/** `name` is only told in errors. Fault `invalid` names the line. */
export function tokenFileAuthenticator(text: string, name: string): TokenAuthenticator {
  // Looked up by digest, so that comparing takes no longer the more of a guess is right.
  const usersByDigest = new Map<string, UserInfo>();
  text.split(/\r?\n/).forEach((line, index) => {
    if (line.trim() === "" || line.startsWith("#")) return;
    const [token = "", user = "", uid, groups] = csvFields(line);
    if (token === "" || user === "" || uid === undefined) {
      throw new Fault("invalid", `Cannot read token file ${name}: line ${index + 1} is not token,user,uid[,"groups"]`);
    }
    const named = (groups ?? "").split(",").map((each) => each.trim());
    usersByDigest.set(digest(token), {
      name: user,
      ...(uid === "" ? {} : { uid }),
      groups: [...named.filter((each) => each !== ""), "system:authenticated"],
    });
  });
  return {
    name: "token-file",
    async authenticateToken(token) {
      const user = usersByDigest.get(digest(token));
      return user && { user };
    },
  };
}

const digest = (token: string) => createHash("sha256").update(token).digest("base64");

/** One line of RFC 4180: fields may stand in double quotes, in which a doubled quote is one. */
function csvFields(line: string): string[] {
  const fields: string[] = [];
  for (const match of line.matchAll(/(?:^|,)\s*(?:"((?:[^"]|"")*)"|([^,]*))/g)) {
    fields.push(match[1] !== undefined ? match[1].replaceAll('""', '"') : (match[2] ?? "").trim());
  }
  return fields;
}
