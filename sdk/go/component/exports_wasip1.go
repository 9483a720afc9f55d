package component

import _ "wit_component/exports/wit_exports"
