(class_definition name: (identifier) @name) @definition
(function_definition name: (identifier) @name) @definition
