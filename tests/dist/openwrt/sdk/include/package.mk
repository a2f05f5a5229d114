define BuildPackage
compile:
	$(Build/Compile)
install:
	$(call Package/$(1)/install,$(DESTINATION))
conffiles:
	@echo $(Package/$(1)/conffiles)
endef
