// What a web server says is in a folder: the page of links that nginx, Apache and others make where they are told to.
#pragma once

#include <optional>
#include <string>

#include "lib/remote/http_client.hpp"
#include "lib/remote/list_page.hpp"

namespace tare {

/// The names in the folder that `asked` leads to, without a slash at its end, of which the page tells no sizes that are
/// exact; those that begin with a dot it leaves out, as a rule. Nothing where the server makes no such page.
std::optional<ListPage> list_web(const HttpClient& client, HttpObject asked);

/// The same of a page. Nothing for one that is no list of a folder.
std::optional<ListPage> parse_web_index(std::string_view page);

}  // namespace tare
