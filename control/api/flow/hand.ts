// Which queues of a level a flow may wait in: a few by its name, so that two flows seldom share all of theirs.

/** Always the same numbers for one name; distinct ones. */
export function handOf(flow: string, queues: number, size: number): number[] {
  const hand: number[] = [];
  let state = hashOf(flow);
  while (hand.length < Math.min(size, queues)) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    // The low bits of such a sequence repeat soon.
    let number = (state >>> 8) % queues;
    while (hand.includes(number)) number = (number + 1) % queues;
    hand.push(number);
  }
  return hand;
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
