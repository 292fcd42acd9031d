// A record's state as an icon and a word, so that nobody depends on colours.

import type { RecordState } from "../../kernel/record/record.ts";

export function StateBadge({ state }: { readonly state: RecordState }) {
  return (
    <span class={`state ${state}`}>
      <svg
        width="12"
        height="12"
        viewBox="0 0 12 12"
        fill="none"
        stroke="currentColor"
        stroke-width="1.6"
        aria-hidden="true"
      >
        <Sign state={state} />
      </svg>
      {state}
    </span>
  );
}

function Sign({ state }: { readonly state: RecordState }) {
  switch (state) {
    case "started":
      return (
        <>
          <circle cx="6" cy="6" r="5" />
          <circle class="turn" cx="6" cy="6" r="2" fill="currentColor" stroke="none" />
        </>
      );
    case "waiting":
      return <path d="M3 1.5H9L3 10.5H9L3 1.5Z" />;
    case "completed":
      return <path d="M1.5 6.5 4.5 9.5 10.5 2.5" />;
    case "remembered":
      return <path d="M2.5 1.5H9.5V10.5L6 8 2.5 10.5Z" />;
    case "failed":
      return <path d="M10.5 6A4.5 4.5 0 1 1 8.6 2.3M8.6 0V2.6H6" />;
    case "unknown":
      return <path d="M3.5 4A2.5 2.3 0 1 1 6 6.3V7.6M6 9.6V11" />;
  }
}
