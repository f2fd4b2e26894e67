// Chooses an address of a range set: pure, over what is taken. Goes on from the address given out last, so that one
// just released is the last to be used again.

import { type Address, formatAddress, isSameAddress, offset } from "../../plugins/kit/os/net/address.ts";
import { CniFault, cniCode } from "../spec/error.ts";
import { type Range, type RangeSet, rangeOf } from "./ranges.ts";

export interface Choice {
  readonly address: Address;
  readonly range: Range;
}

/** The next free address after `last`, around all ranges of the set; `isTaken` is asked for each candidate. */
export function chooseNext(set: RangeSet, last: Address | undefined, isTaken: (address: Address) => boolean): Choice {
  const from = startOf(set, last);
  for (let step = 0; step <= set.length; step++) {
    const range = set[(from.index + step) % set.length] as Range;
    // The first range is walked twice: from where we go on, and, when all others are full, from its start.
    const begin = step === 0 ? from.address : range.start;
    const end = step === set.length ? offset(from.address, -1) : range.end;
    for (let address = begin; address.value <= end.value; address = offset(address, 1)) {
      if (range.gateway && isSameAddress(address, range.gateway)) continue;
      if (!isTaken(address)) return { address, range };
    }
  }
  const names = set.map((range) => `${formatAddress(range.start)}-${formatAddress(range.end)}`).join(", ");
  throw new CniFault(cniCode.tryAgainLater, `Cannot give out an address: no free one is left in ${names}`);
}

function startOf(set: RangeSet, last: Address | undefined): { index: number; address: Address } {
  const first = { index: 0, address: (set[0] as Range).start };
  if (!last) return first;
  const index = set.findIndex((range) => rangeOf([range], last));
  const range = set[index];
  if (!range) return first;
  if (last.value < range.end.value) return { index, address: offset(last, 1) };
  const next = (index + 1) % set.length;
  return { index: next, address: (set[next] as Range).start };
}

/** The address that was asked for, or the reason why it cannot be had. */
export function chooseRequested(set: RangeSet, address: Address, isTaken: (address: Address) => boolean): Choice {
  const range = rangeOf(set, address);
  const text = formatAddress(address);
  if (!range) throw new CniFault(cniCode.invalidConfig, `Cannot give out ${text}: it is in none of the ranges`);
  if (range.gateway && isSameAddress(address, range.gateway))
    throw new CniFault(cniCode.invalidConfig, `Cannot give out ${text}: it is the gateway`);
  if (isTaken(address)) throw new CniFault(cniCode.tryAgainLater, `Cannot give out ${text}: it is in use`);
  return { address, range };
}
