// The dictionary that SPDY/3 presets its header compression with: fixed by the protocol, byte for byte.

const words = [
  ..."options head post put delete trace accept accept-charset accept-encoding accept-language".split(" "),
  ..."accept-ranges age allow authorization cache-control connection content-base content-encoding".split(" "),
  ..."content-language content-length content-location content-md5 content-range content-type date".split(" "),
  ..."etag expect expires from host if-match if-modified-since if-none-match if-range".split(" "),
  ..."if-unmodified-since last-modified location max-forwards pragma proxy-authenticate".split(" "),
  ..."proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade".split(" "),
  ..."user-agent vary via warning www-authenticate method get status".split(" "),
  "200 OK",
  ..."version HTTP/1.1 url public set-cookie keep-alive origin".split(" "),
];

const tail =
  "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505" +
  "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized" +
  "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable" +
  "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT" +
  "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain," +
  "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

export const headerDictionary: Buffer = Buffer.concat([
  ...words.map((word) => Buffer.concat([Buffer.from([0, 0, 0, word.length]), Buffer.from(word)])),
  Buffer.from(tail),
]);

/** Its Adler-32, which a zlib stream names in its head. */
export const headerDictionaryId = 0xe3c6a7c2;
