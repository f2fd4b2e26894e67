// The user's own terminal while a program elsewhere has it: keys as they are pressed, and its size as it changes.

import { SizeFeed, sizeMessage } from "../../cri/stream/sizes.ts";

export interface Screen {
  readonly input: { isTTY?: boolean; setRawMode?(on: boolean): unknown };
  readonly output: {
    isTTY?: boolean;
    columns?: number;
    rows?: number;
    on(event: "resize", then: () => void): unknown;
    off(event: "resize", then: () => void): unknown;
  };
}

/** Where there is no terminal nothing is changed and no size is told. `giveBack` may be called twice. */
export function takeScreen({ input, output }: { input: Partial<Screen["input"]>; output: Partial<Screen["output"]> }) {
  const sizes = new SizeFeed();
  const tellSize = () => {
    if (output.columns && output.rows)
      sizes.write(Buffer.from(sizeMessage({ width: output.columns, height: output.rows })));
  };
  const isRaw = input.isTTY === true;
  if (isRaw) input.setRawMode?.(true);
  if (output.isTTY) {
    tellSize();
    output.on?.("resize", tellSize);
  }
  return {
    sizes,
    giveBack() {
      sizes.end();
      output.off?.("resize", tellSize);
      if (isRaw) input.setRawMode?.(false);
    },
  };
}
