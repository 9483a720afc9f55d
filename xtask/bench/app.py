from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.resources import Reading
from wit_world.imports.types import Body_Text, Contents, Error_NotFound, ResourceInfo, ResourcePage


class Resources(exports.Resources):
    def list(self, cursor):
        return ResourcePage([ResourceInfo("bench://py", "py", None, None, None, None, None, None, None)], None, None)

    def templates(self):
        return []

    def read(self, request):
        if request.uri != "bench://py":
            raise Err(Error_NotFound())
        return Reading([Contents(None, None, Body_Text("py"), None)], None, None)
