// Bodies that take some milliseconds for each of the steps to the store: to decode, to check against the schema, to default and track.
// Each step waits for a turn, so that no other request waits for the sum of them.

import { Turns } from "../../plugins/kit/base/turns.ts";

export const largeBodyBytes = 64 * 1024;

export const isLarge = (body: Uint8Array): boolean => body.length > largeBodyBytes;

export const largeBodies = new Turns();
