// Amounts of bytes that are not whole: taken, but told.

import { formatQuantity, parseQuantity } from "../../plugins/kit/kube/quantity.ts";

interface Resources {
  limits?: Record<string, string | number> | null;
  requests?: Record<string, string | number> | null;
}

/** `at` is where the resources stand. */
export function fractionalBytes(resources: unknown, names: readonly string[], at: string): string[] {
  const { limits, requests } = (resources ?? {}) as Resources;
  return names.flatMap((name) =>
    Object.entries({ limits, requests }).flatMap(([which, amounts]) => {
      const amount = amounts?.[name];
      if (amount === undefined) return [];
      const text = formatQuantity(parseQuantity(amount));
      if (!text.endsWith("m")) return [];
      return [
        `${at}.resources.${which}[${name}]: fractional byte value ${JSON.stringify(text)} is invalid, must be an integer`,
      ];
    }),
  );
}
