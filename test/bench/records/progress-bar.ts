// A progress bar on standard error, so that standard output holds the figures alone.

const WIDTH = 30;

export class ProgressBar {
  readonly #label: string;
  readonly #total: number;
  readonly #begun = performance.now();
  readonly #from: number;
  #printedAt = 0;

  /** `from` has been done before. */
  constructor(label: string, total: number, from = 0) {
    this.#label = label;
    this.#total = total;
    this.#from = from;
    this.show(from);
  }

  show(done: number): void {
    const now = performance.now();
    if (done < this.#total && now - this.#printedAt < 200) return;
    this.#printedAt = now;
    const share = this.#total === 0 ? 1 : done / this.#total;
    const filled = Math.round(share * WIDTH);
    const rate = Math.round((done - this.#from) / Math.max(0.001, (now - this.#begun) / 1000));
    const bar = "#".repeat(filled) + ".".repeat(WIDTH - filled);
    const text = `${this.#label} [${bar}] ${(share * 100).toFixed(1)} % of ${grouped(this.#total)}, ${grouped(rate)}/s`;
    process.stderr.write(process.stderr.isTTY ? `\r${text}   ` : `${text}\n`);
  }

  end(): void {
    this.show(this.#total);
    if (process.stderr.isTTY) process.stderr.write("\n");
  }
}

export function grouped(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
