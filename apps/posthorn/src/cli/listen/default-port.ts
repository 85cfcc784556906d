/** Where `posthorn listen` receives, unless told otherwise; `start` lets webhooks go there. */
export const defaultListenPort = 8091
