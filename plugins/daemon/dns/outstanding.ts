// How many questions are being answered, in all and of one client: each holds memory, and most of them a socket. What is
// beyond is refused at once, so that a name server that is silent cannot make them pile up.

export interface OutstandingLimits {
  readonly most: number;
  readonly mostPerClient: number;
}

export class Outstanding {
  readonly #limits: OutstandingLimits;
  readonly #countByClient = new Map<string, number>();
  #count = 0;

  constructor(limits: OutstandingLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  /** False when there is no room; otherwise `end` must follow. */
  begin(client: string): boolean {
    const own = this.#countByClient.get(client) ?? 0;
    if (this.#count >= this.#limits.most || own >= this.#limits.mostPerClient) return false;
    this.#count++;
    this.#countByClient.set(client, own + 1);
    return true;
  }

  end(client: string): void {
    this.#count--;
    const left = (this.#countByClient.get(client) ?? 0) - 1;
    if (left > 0) this.#countByClient.set(client, left);
    else this.#countByClient.delete(client);
  }
}
