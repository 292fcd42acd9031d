// What a browser says about where a request comes from (Fetch Metadata): no script can set or remove these headers. An origin behind the
// gateway may serve pages on the console's own host. To a browser these are the console's own, so SameSite, Origin and
// `Sec-Fetch-Site: same-origin` let their scripts through; what such a script cannot do is open a page in its own window and still run.

/** Whether a browser has sent the request. Old ones say nothing, and are not told from other programs here. */
export function isBrowsers(headers: Headers): boolean {
  return headers.has("sec-fetch-site");
}

/**
 * Whether the request opens a page in a window or tab. A service worker that has the window's page loaded for itself first (navigation
 * preload) would read it.
 */
export function opensPage(headers: Headers): boolean {
  const isNavigation = headers.get("sec-fetch-mode") === "navigate" && headers.get("sec-fetch-dest") === "document";
  return isNavigation && !headers.has("service-worker-navigation-preload");
}
