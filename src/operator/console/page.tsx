// The frame of every page: where the reader is, who is signed in, whether the page is current; and a page as a response.

import { html } from "hono/html";
import type { Child } from "hono/jsx";
import type { HtmlEscapedString } from "hono/utils/html";
import type { ConsoleLink } from "../../kernel/worker-feature.ts";
import type { Actor } from "../access/auth.ts";
import { withVisibleOrder } from "./visible-order.ts";
import { type ConsolePaths, type ConsoleSite, siteText, type ConsoleView } from "./view.ts";

interface DocumentProps {
  readonly site: ConsoleSite;
  readonly title: string;
  readonly styleSrc: string;
  readonly scriptSrc?: string;
  readonly now?: number;
  /** Announced to screen readers when it changes while the page is open. */
  readonly news?: string | undefined;
  readonly from?: string | undefined;
  readonly children: Child;
}

export function HtmlDocument({ site, title, styleSrc, scriptSrc, now, news, from, children }: DocumentProps) {
  return html`<!doctype html>${(
      <html lang="en" data-now={now}>
        <head>
          <meta charset="utf-8" />
          <title>{`${title} · ${siteText(site)} · Onceway`}</title>
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <link rel="stylesheet" href={styleSrc} />
          <link rel="icon" href="data:," />
          {scriptSrc === undefined ? null : <script type="module" src={scriptSrc} />}
        </head>
        <body data-news={news} data-from={from}>
          {children}
        </body>
      </html>
    )}`;
}

/** One of the frame's, or the path of a feature's link; `null`: none of them. */
export type MenuEntry = string | null;

const ROLE_TITLES = { admin: "Administrator", reader: "Read only" } as const;

/** The holders of ADMIN_TOKEN and READ_TOKEN are called by their role. */
function isNamed({ name, role }: Actor): boolean {
  return name !== role;
}

interface PageProps {
  readonly view: ConsoleView;
  readonly title: string;
  readonly place: MenuEntry;
  readonly news?: string;
  /** The URL from which the page refreshes, if not its own: the URL of a refused form shows nothing. */
  readonly from?: string;
  readonly children: Child;
}

export function ConsolePage({ view, title, place, news, from, children }: PageProps) {
  const {
    site,
    paths,
    viewer: { actor },
    now,
    links,
  } = view;
  const link = (name: string, href: string, its: MenuEntry): Child => (
    <a href={href} aria-current={its === place ? "page" : undefined}>
      {name}
    </a>
  );
  const linksAfter = (its: ConsoleLink["after"]): Child =>
    links.filter(({ after }) => after === its).map((one) => link(one.title, paths.below(one.path), one.path));
  return (
    <HtmlDocument
      site={site}
      title={title}
      styleSrc={paths.style}
      scriptSrc={paths.script}
      now={now}
      news={news ?? ""}
      from={from}
    >
      <a class="skip unseen" href="#main">
        Skip to content
      </a>
      <header class="bar">
        <div>
          <BrandLink href={paths.overview} />
          <SiteName site={site} />
          <nav aria-label="Console">
            {link("Overview", paths.overview, "overview")}
            {link("Records", paths.records, "records")}
            {linksAfter("records")}
            {link("Shards", paths.shards, "shards")}
            {linksAfter("shards")}
          </nav>
          <div class="who">
            <div id="live" hidden>
              <span id="live-state" role="status" />
              <button type="button" class="quiet" id="live-pause">
                Pause
              </button>
            </div>
            <span class="soft small role" title={ROLE_TITLES[actor.role]}>
              {isNamed(actor) ? actor.name : ROLE_TITLES[actor.role]}
            </span>
            <form method="post" action={paths.signOut}>
              <FormToken view={view} />
              {actor.via === "token" ? <button class="quiet">Sign out</button> : null}
            </form>
            {actor.role === "admin" ? (
              <a class="small" href={paths.sessions}>
                Sign everybody out
              </a>
            ) : null}
          </div>
        </div>
      </header>
      <p id="news" class="unseen" role="status" />
      <main id="main" tabindex={-1}>
        {children}
      </main>
    </HtmlDocument>
  );
}

export function FormToken({ view }: { readonly view: ConsoleView }) {
  return <input type="hidden" name="token" value={view.viewer.formToken} />;
}

/** Why nothing was done; `null`: there is nothing to say. */
export function ProblemNote({ problem, id }: { readonly problem: string | null; readonly id?: string | undefined }) {
  return problem === null ? null : (
    <p class="note error" role="alert" id={id}>
      {problem}
    </p>
  );
}

/** In the place of a form. */
export function ReadOnlyNote() {
  return <p class="empty">You may read only. Changes need an administrator.</p>;
}

/** Why an operator changes what has no record to keep it. */
export function LogReason({ value }: { readonly value: string }) {
  return (
    <div class="field">
      <label for="reason">
        Reason <span class="soft small">Written to the log.</span>
      </label>
      <input id="reason" name="reason" required maxlength={1000} autocomplete="off" value={value} />
    </div>
  );
}

/** Where a change takes effect: on every page, and beside the buttons that change something. */
export function SiteName({ site: { host, environment } }: { readonly site: ConsoleSite }) {
  return (
    <span class="site">
      {environment === null ? null : <strong>{environment}</strong>} <span class="small">{host}</span>
    </span>
  );
}

/** The logo: many lines come in, one goes out. */
export function BrandLink({ href }: { readonly href: string }) {
  return (
    <a class="brand" href={href}>
      <svg
        width="22"
        height="22"
        viewBox="0 0 22 22"
        fill="none"
        stroke="currentColor"
        stroke-width="2"
        stroke-linecap="round"
        aria-hidden="true"
      >
        <path d="M2 4c5 0 5 7 9 7M2 18c5 0 5-7 9-7M2 11h18M16 7l4 4-4 4" />
      </svg>
      Onceway
    </a>
  );
}

interface MessageProps {
  readonly site: ConsoleSite;
  readonly paths: ConsolePaths;
  readonly title: string;
  readonly text: string;
}

/** A page with only a message. */
export function MessagePage({ site, paths, title, text }: MessageProps) {
  return (
    <HtmlDocument site={site} title={title} styleSrc={paths.style}>
      <main id="main">
        <div class="card sign-in">
          <BrandLink href={paths.overview} />
          <SiteName site={site} />
          <h1>{title}</h1>
          <p>{text}</p>
          <p>
            <a href={paths.overview}>Overview</a>
          </p>
        </div>
      </main>
    </HtmlDocument>
  );
}

export async function showPage(
  page: HtmlEscapedString | Promise<HtmlEscapedString>,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const text = withVisibleOrder(String(await page));
  return new Response(text, { status, headers: { "Content-Type": "text/html; charset=utf-8", ...headers } });
}
