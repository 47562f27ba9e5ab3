/* A build without the page: CMakeLists.txt says why. */
#include "collector/page/page.h"

const struct page_asset page_assets[1];
const size_t page_asset_count = 0;
const struct page_asset page_alone;
