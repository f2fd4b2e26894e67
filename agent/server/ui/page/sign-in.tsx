// The field for a token, shown where something was refused.

import { useState } from "preact/hooks";
import { hasToken, keepToken } from "./access.ts";

interface SignInProps {
  /** What is asked for, as the subject of a sentence. */
  readonly what: string;
  /** 401: nobody known; 403: somebody who may not. */
  readonly status?: number;
  readonly onToken: () => void;
}

export function SignIn({ what, status, onToken }: SignInProps) {
  const [value, setValue] = useState("");
  return (
    <form
      class="card bar"
      onSubmit={(event) => {
        event.preventDefault();
        keepToken(value.trim());
        setValue("");
        onToken();
      }}
    >
      {hasToken() && (
        <strong class="bad" role="alert">
          {status === 403 ? "This token may not see it." : "This token is not valid: it is wrong, or has expired."}
        </strong>
      )}
      <label>
        {what} need a token (<code>skiff ui</code> prints a link with one):{" "}
        <input type="password" value={value} onInput={(event) => setValue(event.currentTarget.value)} />
      </label>
      <button>Sign in</button>
    </form>
  );
}
