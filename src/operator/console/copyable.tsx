// Text that operators take elsewhere, such as an id, with a button that copies it (browser/copy.ts).

interface CopyableProps {
  readonly text: string;
  /** What it is, after "Copy": `the record's id`. Each on a page is another. */
  readonly what: string;
}

export function CopyableText({ text, what }: CopyableProps) {
  return (
    <span class="copyable">
      <span class="mono">{text}</span> <CopyButton what={what} />
    </span>
  );
}

/** Right after the element whose text it copies. */
export function CopyButton({ what }: Pick<CopyableProps, "what">) {
  return (
    <button type="button" class="copy" aria-label={`Copy ${what}`}>
      Copy
    </button>
  );
}
