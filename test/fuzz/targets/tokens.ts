import { generateKeyPairSync } from "node:crypto";
import { isSignedBy, parseJwt, signingKey, signJwt } from "../../../control/auth/tokens/jwt.ts";
import { formatJoinToken, parseJoinToken } from "../../../plugins/kit/kube/join-token.ts";
import { bearerAuthenticator } from "../../../control/auth/tokens/bearer.ts";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { attempt, check, refusal, type Target } from "../target.ts";

const key = signingKey(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey);
const genuine = signJwt({ sub: "system:serviceaccount:a:b", exp: 1 }, key);
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

export const jwt: Target = {
  name: "JWT",
  corpus: [
    // The signature differs from run to run, so the genuine token itself is no seed.
    `${part({ alg: "ES256" })}.${part({ sub: "a" })}.AAAA`,
    `${part({ alg: "none" })}.${part({ __proto__: { admin: true }, sub: "a" })}.e30`,
    `${part({ alg: "HS256", kid: "k" })}.${part([])}.e30`,
    "a.b.c",
  ],
  words: [".", "e30", "eyJhbGciOiJub25lIn0", "eyJhbGciOiJFUzI1NiJ9", "-", "_", "="],
  run(input) {
    const text = input.toString();
    const parsed = parseJwt(text);
    if (!parsed) return "refused";
    check(text === genuine || !isSignedBy(parsed, [key]), "a token that was not signed here is taken for one that was");
    return `${typeof parsed.header["alg"]} ${typeof parsed.claims["sub"]}`;
  },
};

export const joinToken: Target = {
  name: "join token",
  corpus: [
    "abcdef.0123456789abcdef",
    `K10${"0".repeat(64)}::abcdef.0123456789abcdef`,
    " abcdef.0123456789abcdef\n",
    "K10::a.b",
  ],
  words: ["K10", "::", ".", "abcdef", "0123456789abcdef"],
  run: (input) =>
    attempt(
      () => parseJoinToken(input.toString()),
      (token) => {
        check(formatJoinToken(token) === input.toString().trim(), "the token is written otherwise than it was read");
        return token.caHash === undefined ? "bare" : "pinned";
      },
    ),
};

export const bearer: Target = {
  name: "bearer token",
  corpus: [
    "authorization: Bearer abcdef.0123456789abcdef",
    "sec-websocket-protocol: v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.YWJj",
    "authorization: Basic YTpi",
  ],
  words: [
    "authorization: ",
    "Bearer ",
    "bearer\t",
    "base64url.bearer.authorization.k8s.io.",
    ",",
    "\n",
    "sec-websocket-protocol: ",
  ],
  async run(input) {
    const headers = new Headers();
    for (const line of input.toString("latin1").split("\n")) {
      const colon = line.indexOf(":");
      try {
        headers.append(line.slice(0, colon), line.slice(colon + 1));
      } catch {
        // No header; the runtime's own parser refuses it before ours sees it.
      }
    }
    const seen: string[] = [];
    const authenticator = bearerAuthenticator(
      [{ name: "nobody", authenticateToken: async (token) => void seen.push(token) }],
      [],
    );
    try {
      await authenticator.authenticate({ headers } as Parameters<typeof authenticator.authenticate>[0], uninterrupted);
    } catch (error) {
      return refusal(error);
    }
    check(seen.length === 0, "a token that nobody knows is passed on to be anonymous");
    return "none";
  },
};
