/* page/page.h - the files of the live page, compiled into the program.
 *
 * The page is what `lethe serve` shows at `/`: HTML, a style sheet, scripts and an icon, which the
 * build turns into arrays (CMakeLists.txt beside this file). Nothing is read from disk while the
 * server runs, so no address can reach the file system, and program and page have one version. */
#ifndef LETHE_SERVER_PAGE_PAGE_H
#define LETHE_SERVER_PAGE_PAGE_H

#include <stddef.h>

/* One file: the path of its address ("/" is the page itself), its media type, its bytes. */
struct page_file {
    const char *path, *type;
    const unsigned char *data;
    size_t size;
};

/* Every file, ordered by path, and how many there are. */
extern const struct page_file page_files[];
extern const size_t page_file_count;

/* What the page may load and do; the server sends it with each file, as the header of this name.
 * The page holds no script or style of its own text, so nothing that a key contains can become
 * one. */
#define PAGE_CONTENT_SECURITY_POLICY                                                \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " \
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " \
    "require-trusted-types-for 'script'; trusted-types 'none'"

#endif
