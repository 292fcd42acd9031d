// What a long command is doing, how far it is and how long it will still take, on standard error, so that standard output
// holds the results alone. On a terminal one line rewrites itself; elsewhere a line is written when a phase begins and every
// 30 seconds after.

const REWRITE_MS = 200;
const PLAIN_MS = 30_000;
const { stderr } = process;
// The simulation replaces the clock by its own.
const now = performance.now.bind(performance);

interface Options {
  /** What is counted, after the numbers. */
  readonly unit?: string;
  /** How many had been done before: they say nothing about the speed. */
  readonly from?: number;
}

/** One phase of which the amount of work is known. */
export class Progress {
  readonly #label: string;
  readonly #total: number;
  readonly #unit: string;
  readonly #from: number;
  readonly #begunAt = now();
  #writtenAt = Number.NEGATIVE_INFINITY;

  constructor(label: string, total: number, { unit = "", from = 0 }: Options = {}) {
    this.#label = label;
    this.#total = total;
    this.#unit = unit;
    this.#from = from;
    this.show(from);
  }

  /** `detail` says what is done right now. */
  show(done: number, detail = ""): void {
    const at = now();
    if (at - this.#writtenAt < (stderr.isTTY ? REWRITE_MS : PLAIN_MS)) return;
    this.#writtenAt = at;
    const share = this.#total === 0 ? 1 : Math.min(1, done / this.#total);
    const seconds = (at - this.#begunAt) / 1000;
    const perSecond = (done - this.#from) / Math.max(0.001, seconds);
    const unit = this.#unit === "" ? "" : ` ${this.#unit}`;
    const left = perSecond > 0 && share < 1 ? `, about ${duration((this.#total - done) / perSecond)} left` : "";
    const text = `${Math.floor(share * 100)}% of ${grouped(this.#total)}${unit}${left}`;
    write(`${this.#label}: ${text}${detail === "" ? "" : ` (${detail})`}`);
  }

  end(): void {
    if (stderr.isTTY) stderr.write("\r\u001B[K");
  }
}

/** Shows a phase that takes about so many seconds, or as long as it takes (`null`), while `work` runs. */
export async function showPhase<T>(label: string, seconds: number | null, work: () => Promise<T>): Promise<T> {
  const begunAt = now();
  let writtenAt = Number.NEGATIVE_INFINITY;
  const show = (): void => {
    const at = now();
    if (at - writtenAt < (stderr.isTTY ? REWRITE_MS : PLAIN_MS)) return;
    writtenAt = at;
    const past = (at - begunAt) / 1000;
    const left =
      seconds === null ? "" : ` of ${duration(seconds)}, about ${duration(Math.max(0, seconds - past))} left`;
    write(`${label}: ${duration(past)}${left}`);
  };
  show();
  const timer = setInterval(show, 1000);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    if (stderr.isTTY) stderr.write("\r\u001B[K");
  }
}

export type ShowPhase = typeof showPhase;

/** For those that run within tests. */
export const showNothing: ShowPhase = (_label, _seconds, work) => work();

export function grouped(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function write(text: string): void {
  // A line that is wider than the terminal could not be rewritten.
  stderr.write(stderr.isTTY ? `\r\u001B[K${text.slice(0, (stderr.columns || 80) - 1)}` : `${text}\n`);
}

function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 120) return `${whole} s`;
  const minutes = Math.round(whole / 60);
  return minutes < 120 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}
