// The field for a token, shown where something was refused.

import { useState } from "preact/hooks";
import { keepToken } from "./access.ts";

export function SignIn({ what, onToken }: { readonly what: string; readonly onToken: () => void }) {
  const [value, setValue] = useState("");
  return (
    <form
      class="card bar"
      onSubmit={(event) => {
        event.preventDefault();
        keepToken(value.trim());
        onToken();
      }}
    >
      <label>
        {what} need a token (<code>skiff ui</code> prints a link with one):{" "}
        <input type="password" value={value} onInput={(event) => setValue(event.currentTarget.value)} />
      </label>
      <button>Sign in</button>
    </form>
  );
}
