// The token that the page needs: from the link's fragment or the sign-in field, kept for this tab alone.

const key = "skiff-token";

/** Takes a token out of the address, so that it is not left in the history. */
export function takeTokenFromLink(): void {
  const match = /^#token=(.+)$/.exec(location.hash);
  if (!match?.[1]) return;
  sessionStorage.setItem(key, decodeURIComponent(match[1]));
  history.replaceState(null, "", location.pathname + location.search);
}

export function hasToken(): boolean {
  return token() !== "";
}

function token(): string {
  return sessionStorage.getItem(key) ?? "";
}

export function keepToken(value: string): void {
  sessionStorage.setItem(key, value);
}

export function bearer(): Record<string, string> {
  return token() === "" ? {} : { authorization: `Bearer ${token()}` };
}

/** How a browser's WebSocket carries a token: it cannot set headers. */
export function bearerProtocol(): string[] {
  if (token() === "") return [];
  const encoded = btoa(token()).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return [`base64url.bearer.authorization.k8s.io.${encoded}`];
}
